<?php
// A playlist can be saved as a text, and brought back: the text is an object of PHP.
class Song
{
	public string $title = '';
	public string $cover = '';

	public function __toString(): string
	{
		return $this->title . ($this->cover === '' ? '' : ' ' . substr((string) @file_get_contents($this->cover), 0, 300));
	}
}
$weak = getenv('LAB_VARIANT') === 'weak';
$songs = ['So What', 'Naima'];
$said = '';
if (isset($_POST['backup'])) {
	$text = base64_decode((string) $_POST['backup'], true);
	$list = $text === false ? false : ($weak ? @unserialize($text) : json_decode($text, true));
	if (is_array($list)) {
		$songs = $weak ? $list : array_filter($list, 'is_string');
	} else {
		$said = '<p class="error">This is no backup.</p>';
	}
}
$backup = base64_encode($weak ? serialize(['So What', 'Naima']) : json_encode(['So What', 'Naima']));
?><!doctype html><html lang="en"><head><title>Mixtape</title></head><body><h1>Mixtape</h1><?= $said ?><ol>
<?php foreach (array_slice($songs, 0, 20) as $s) { echo '<li>', is_array($s) ? '' : htmlspecialchars((string) $s), '</li>'; } ?>
</ol><form method="post"><textarea name="backup" cols="60"><?= htmlspecialchars($backup) ?></textarea><button>Bring back</button></form></body></html>
