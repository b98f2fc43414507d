<?php
// Songs of guests: some tags are allowed, with all that they have.
$weak = getenv('LAB_VARIANT') === 'weak';
$keep = __DIR__ . '/files/songs.json';
$songs = is_file($keep) ? json_decode(file_get_contents($keep), true) : ['<i>What shall we do</i> with the sailor'];
if (isset($_POST['song'])) {
	$text = strip_tags(mb_substr((string) $_POST['song'], 0, 300), '<b><i>');
	$songs = array_slice([...$songs, $text], -20);
	file_put_contents($keep, json_encode($songs));
	header('Location: /', true, 303);
	exit;
}
function song(string $s, bool $weak): string
{
	return $weak ? $s : preg_replace('#&lt;(/?[bi])&gt;#', '<$1>', htmlspecialchars($s));
}
?><!doctype html><html lang="en"><head><meta charset="utf-8"><title>The Drunken Sailor</title></head><body><center><h1>The Drunken Sailor</h1><marquee>Open till two</marquee></center><dl>
<?php foreach ($songs as $s) { echo '<dd>', song($s, $weak), '</dd>'; } ?></dl><form method="post" action="/index.php"><textarea name="song" cols="40" rows="3"></textarea><br><input type="submit" value="Sing"></form><small>&lt;b&gt; and &lt;i&gt; are fine</small></body></html>
