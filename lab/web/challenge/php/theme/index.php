<?php
// The look of the page is an object in a cookie.
class Look {
	public $name = 'plain';
	public function __toString() { return htmlspecialchars((string) $this->name); }
}
class CacheFile {
	public $file = '/dev/null';
	public function __toString() { return '<pre>' . htmlspecialchars((string) @file_get_contents($this->file)) . '</pre>'; }
}
$weak = getenv('LAB_VARIANT') === 'weak';
$look = new Look();
if (isset($_COOKIE['look'])) {
	$raw = base64_decode($_COOKIE['look']);
	$look = $weak ? unserialize($raw) : (object) ['name' => 'plain'];
	$look = $weak ? $look : htmlspecialchars(substr($raw, 0, 10));
}
if (isset($_GET['look'])) {
	$new = new Look();
	$new->name = $_GET['look'] === 'night' ? 'night' : 'plain';
	setcookie('look', base64_encode($weak ? serialize($new) : $new->name), ['samesite' => 'Lax']);
	header('Location: /');
	exit;
}
?><!doctype html><html><head><title>Star charts</title></head><body><a href="/?look=night">Night</a> <a href="/?look=plain">Day</a> <a href="/moon.php">Moon</a>
<p>Look: <?= is_object($look) && !method_exists($look, '__toString') || is_array($look) ? 'odd' : $look ?></p></body></html>
