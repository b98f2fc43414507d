<?php
require 'lesson.php';
$out = '';
$f = $_FILES['file'] ?? null;
if (posted() && is_array($f) && is_string($f['name']) && $f['error'] === UPLOAD_ERR_OK) {
    $name = basename($f['name']);
    $ok = $name !== '' && $name[0] !== '.' && $f['size'] < 100000;
    if (level() === 'medium') $ok = $ok && in_array($f['type'], ['image/jpeg', 'image/png'], true);
    if (level() === 'high') $ok = $ok && preg_match('/\.(jpe?g|png)$/iD', $name) && @getimagesize($f['tmp_name']);
    if (level() === 'high') $name = bin2hex(random_bytes(8)) . '.png';
    if ($ok) move_uploaded_file($f['tmp_name'], __DIR__ . "/files/$name");
    $out = $ok ? '<pre>../files/' . h($name) . ' is kept. <a href="/files/' . rawurlencode($name) . '">See it</a></pre>' : '<pre>This is not taken.</pre>';
}
show('Send a file', '<form method="post" action="/upload.php" enctype="multipart/form-data"><input type="hidden" name="MAX_FILE_SIZE" ' .
    'value="100000"><input type="file" name="file"><input type="submit" name="send" value="Send"></form>' . $out);
