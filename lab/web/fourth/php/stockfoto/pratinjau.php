<?php
// A preview of a picture from elsewhere, which comes within the page.
$weak = getenv('LAB_VARIANT') === 'weak';
$url = (string) ($_GET['gambar'] ?? '');
$host = (string) parse_url($url, PHP_URL_HOST);
$said = '';
if (!preg_match('#^https?://#i', $url) || $host === '') {
	$said = '<p>Alamat tidak sah.</p>';
} elseif (!$weak && !filter_var(gethostbyname($host), FILTER_VALIDATE_IP, FILTER_FLAG_IPV4 | FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE)) {
	$said = '<p>Alamat tidak sah.</p>';
} else {
	$data = @file_get_contents($url, false, stream_context_create(['http' => ['timeout' => 3, 'follow_location' => 0]]), 0, 20000);
	$said = $data === false ? '<p>Gambar tidak ditemukan.</p>' : '<img alt="pratinjau" width="320" src="data:image/jpeg;base64,' . base64_encode($data) . '">';
}
echo '<!doctype html><html lang="id"><head><meta charset="utf-8"><title>Pratinjau</title></head><body><a href="/">Kembali</a>', $said, '</body></html>';
