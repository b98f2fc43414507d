<?php
// A box office: a voucher counts once, in each of its spellings.
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
$weak = getenv('LAB_VARIANT') === 'weak';
$_SESSION['codes'] ??= [];
$said = '';
if (isset($_POST['gutschein'])) {
	$code = trim((string) $_POST['gutschein']);
	$code = $weak ? $code : strtoupper($code);
	if (strtoupper($code) !== 'BALKON10') {
		$said = 'Diesen Gutschein gibt es nicht.';
	} elseif (in_array($code, $_SESSION['codes'], true)) {
		$said = 'Schon eingelöst.';
	} else {
		$_SESSION['codes'][] = $code;
		$said = 'Eingelöst.';
	}
}
$total = max(0, 48 - 10 * count($_SESSION['codes']));
?><!DOCTYPE html><html lang="de-CH"><head><meta charset="utf-8"><title>Kleintheater</title></head><body><h1>Kleintheater</h1><p>2 Plätze, Balkon: 48 Franken</p><p><?= $said ?></p><p>Zu zahlen: <?= $total ?> Franken</p>
<form method="post" action="/index.php"><label>Gutschein <input name="gutschein" placeholder="BALKON10"></label><button>Einlösen</button></form><p>Im Mai für alle: BALKON10</p></body></html>
