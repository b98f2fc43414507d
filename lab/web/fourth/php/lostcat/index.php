<?php
// Cats that were lost: the names of the files that people send are listed.
$weak = getenv('LAB_VARIANT') === 'weak';
$keep = __DIR__ . '/files/list.json';
$list = is_file($keep) ? json_decode(file_get_contents($keep), true) : ['minka.jpg'];
$said = '';
if (is_uploaded_file($_FILES['foto']['tmp_name'] ?? '')) {
	$name = mb_substr((string) $_FILES['foto']['name'], 0, 100);
	if (preg_match('/\.(jpe?g|png)$/i', $name)) {
		$list = array_slice([...$list, $name], -20);
		file_put_contents($keep, json_encode($list));
		header('Location: /', true, 303);
		exit;
	}
	$said = '<p role="alert">Nur JPEG oder PNG.</p>';
}
?><!DOCTYPE html><html lang="de"><head><meta charset="utf-8"><title>Katze vermisst</title></head><body><h1>Katze vermisst?</h1><?= $said ?><ul class="fotos"><?php foreach ($list as $n) { echo '<li>', $weak ? $n : htmlspecialchars($n), ', in Prüfung</li>'; } ?></ul>
<form method="post" action="/" enctype="multipart/form-data"><input type="file" name="foto" accept="image/*"><input name="tel" placeholder="Telefon"><button>Melden</button></form></body></html>
