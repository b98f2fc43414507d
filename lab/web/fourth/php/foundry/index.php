<?php
// A list of bells: what is looked for stands in single quotes of a command.
$weak = getenv('LAB_VARIANT') === 'weak';
$q = substr((string) ($_GET['glocke'] ?? ''), 0, 80);
$out = '';
if ($q !== '') {
	$q = str_replace([';', '|', '&', "\n", "\r", "\0"], '', $q);
	$line = "grep -i -m 9 -- " . ($weak ? "'$q'" : escapeshellarg($q)) . ' ' . escapeshellarg(__DIR__ . '/bells.txt');
	$out = (string) shell_exec('timeout 10 sh -c ' . escapeshellarg($line) . ' 2>/dev/null');
}
?><html lang="de"><head><meta charset="utf-8"><title>Glockengie&szlig;erei</title></head><body><table class="layout"><tr><td><a href="/">Gie&szlig;erei</a></td><td><form action="/index.php"><input name="glocke" value="<?= htmlspecialchars($q) ?>"><select name="ton"><option>alle</option><option>tief</option></select><input type="submit" value="Suchen"></form><pre><?= htmlspecialchars($out) ?></pre></td></tr></table></body></html>
