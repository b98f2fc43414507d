<?php
// Uploads without a login: the type that the request gives is all that counts.
$weak = getenv('LAB_VARIANT') === 'weak';
?><!doctype html>
<html><head><title>Cat gallery</title></head><body><header><a href="/">Cats</a> <a href="/send.php">Send yours</a></header>
<?php foreach (array_slice(glob('files/*') ?: [], -20) as $f) { echo '<img src="/', htmlspecialchars($f), '" alt="cat">'; } ?>
<p>All cats are good.</p></body></html>
