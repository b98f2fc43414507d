<?php
$weak = getenv('LAB_VARIANT') === 'weak';
$said = '';
if (is_uploaded_file($_FILES['cat']['tmp_name'] ?? '')) {
	$f = $_FILES['cat'];
	$name = basename($f['name']);
	if (!in_array($f['type'], ['image/png', 'image/jpeg', 'image/gif'])) {
		$said = 'Only pictures, please.';
	} else {
		$name = $weak ? $name : bin2hex(random_bytes(8)) . ['image/png' => '.png', 'image/jpeg' => '.jpg', 'image/gif' => '.gif'][$f['type']];
		move_uploaded_file($f['tmp_name'], __DIR__ . '/files/' . $name);
		$said = 'Thank you: <a href="/files/' . htmlspecialchars($name) . '">your cat</a>';
	}
}
?><!doctype html>
<html><head><title>Send your cat</title></head><body><header><a href="/">Cats</a></header><p><?= $said ?></p>
<form action="/send.php" method="post" enctype="multipart/form-data"><label>Cat <input type="file" name="cat" accept="image/*"></label><label>Its name <input name="called"></label><input type="submit" value="Send"></form></body></html>
