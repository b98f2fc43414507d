<?php
// A paper by its name: the name is looked at, and then decoded a second time.
$weak = getenv('LAB_VARIANT') === 'weak';
$name = (string) ($_GET['akt'] ?? '1871.txt');
if (str_contains($name, '..') || str_starts_with($name, '/')) {
	http_response_code(400);
	exit('<p>Zła nazwa.</p>');
}
$name = urldecode($name);
if (!$weak) {
	$name = basename($name);
}
$text = str_contains($name, "\0") ? false : @file_get_contents(__DIR__ . '/papers/' . $name);
if ($text === false) {
	http_response_code(404);
	exit('<p>Nie ma takiego aktu.</p>');
}
echo '<!doctype html><html lang="pl"><head><meta charset="utf-8"><title>Akt</title></head><body><a href="/index.php">Archiwum</a><blockquote>', nl2br(htmlspecialchars($text)), '</blockquote></body></html>';
