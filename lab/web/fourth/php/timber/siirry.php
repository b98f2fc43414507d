<?php
// Leads on to the shop: the name of the firm has to be in the address.
$to = (string) ($_GET['kohde'] ?? '');
$good = getenv('LAB_VARIANT') === 'weak' ? str_contains($to, 'puutavara.example') && preg_match('#^https?://#', $to)
	: preg_match('#^https://(www|kauppa)\.puutavara\.example(/[\w/-]*)?$#D', $to);
if (!$good) {
	http_response_code(400);
	exit('<!DOCTYPE html><html lang="fi"><head><meta charset="utf-8"><title>Virhe</title></head><body><p>Tuntematon kohde.</p><a href="/">Takaisin</a></body></html>');
}
header('Location: ' . $to);
