<?php
// Tickets of a raffle: what a ticket wins is sealed with a digest of itself.
$weak = getenv('LAB_VARIANT') === 'weak';
$file = dirname(__DIR__, 2) . '/' . basename(__DIR__) . '.key';
$secret = $weak ? '' : (is_file($file) ? file_get_contents($file) : '');
if (!$weak && $secret === '') {
	file_put_contents($file, $secret = bin2hex(random_bytes(16)));
}
$seal = fn (string $prize): string => $weak ? md5($prize) : hash_hmac('sha256', $prize, $secret);
$said = '';
if (isset($_POST['claim'])) {
	$prize = (string) ($_POST['prize'] ?? '');
	$said = hash_equals($seal($prize), (string) ($_POST['seal'] ?? '')) ? '<p class="won">Please collect: ' . htmlspecialchars($prize) . '</p>' : '<p class="lost">This ticket was not drawn here.</p>';
}
?><!DOCTYPE html><html lang="en-NZ"><head><title>School fair raffle</title></head><body><h1>School fair raffle</h1><?= $said ?>
<form method="post" action="/index.php"><p>Your ticket wins a <b>pencil</b>.</p><input type="hidden" name="prize" value="pencil"><input type="hidden" name="seal" value="<?= $seal('pencil') ?>"><p>Your name <input name="winner"></p><button name="claim" value="1">Claim</button></form></body></html>
