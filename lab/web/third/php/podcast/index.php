<?php
// Episodes that listeners suggest: an address must have http in it.
$weak = getenv('LAB_VARIANT') === 'weak';
$keep = __DIR__ . '/files/suggested.json';
$list = is_file($keep) ? json_decode(file_get_contents($keep), true) : [];
$said = '';
if (($_SERVER['REQUEST_METHOD'] ?? '') === 'POST') {
	$title = mb_substr((string) ($_POST['episode'] ?? ''), 0, 60);
	$url = mb_substr((string) ($_POST['website'] ?? ''), 0, 120);
	if ($title !== '' && ($weak ? str_contains($url, 'http') : preg_match('#^https?://[\w.-]+(:\d+)?(/|$)#', $url))) {
		$list = array_slice([...$list, [$title, $url]], -15);
		file_put_contents($keep, json_encode($list));
		$said = '<div class="toast ok">Merci !</div>';
	} else {
		$said = '<div class="toast ko">Il faut un titre et une adresse en http.</div>';
	}
}
?><!DOCTYPE html>
<html lang="fr"><head><meta charset="utf-8"><title>Le micro ouvert</title></head><body>
<h1>Le micro ouvert</h1><?= $said ?>
<section><h2>Vos idées</h2><?php foreach ($list as [$t, $u]) { echo '<p><a class="idee" href="', htmlspecialchars($u), '">', htmlspecialchars($t), '</a></p>'; } ?></section>
<form method="POST" action="/index.php"><label>Sujet <input type="text" name="episode"></label><label>Adresse <input type="text" name="website" placeholder="https://"></label><input type="submit" name="ok" value="Proposer"></form>
</body></html>
