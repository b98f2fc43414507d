<?php
// A camp site in three languages: the cookie of a language is the name of a file.
$weak = getenv('LAB_VARIANT') === 'weak';
if (isset($_GET['sprog'])) {
	setcookie('sprog', in_array($_GET['sprog'], ['da.txt', 'de.txt', 'en.txt'], true) ? $_GET['sprog'] : 'da.txt', ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
	header('Location: /');
	exit;
}
$lang = (string) ($_COOKIE['sprog'] ?? 'da.txt');
$lang = $weak ? str_replace(['../', "\0"], '', $lang) : basename($lang);
$text = @file_get_contents(__DIR__ . '/sprog/' . $lang);
?><!DOCTYPE html><html><head><meta charset="utf-8"><title>Klitternes Camping</title></head><body bgcolor="#e8dcc0"><h1>Klitternes Camping</h1><p><a href="/?sprog=da.txt">Dansk</a> <a href="/?sprog=de.txt">Deutsch</a> <a href="/?sprog=en.txt">English</a></p><div><?= nl2br(htmlspecialchars($text === false ? '...' : $text)) ?></div></body></html>
