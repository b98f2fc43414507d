<?php
// Pictures of members. Variants: "weak" keeps any file in the web root, "claimed" believes the type that the browser names,
// "refusing" refuses one ending of the four that the server runs, "double" wants the ending of a picture anywhere in the
// name. "asis" keeps any, in a folder where nothing runs and all is shown as text; "ending" takes pictures alone;
// "outside" keeps files under random names outside the web root, and hands them out itself.
require 'lab.php';
$u = need();
$note = '';
$f = $_FILES['picture'] ?? null;
if (posted() && is_array($f) && is_string($f['name']) && $f['error'] === UPLOAD_ERR_OK) {
    $name = basename($f['name']);
    $ending = strtolower(pathinfo($name, PATHINFO_EXTENSION));
    $ok = $name !== '' && $name[0] !== '.' && $f['size'] < 100000;
    if (variant('claimed')) $ok = $ok && str_starts_with((string)$f['type'], 'image/');
    if (variant('refusing')) $ok = $ok && $ending !== 'php';
    if (variant('double')) $ok = $ok && preg_match('/\.(png|jpe?g|gif)/i', $name);
    if (variant('ending', 'outside')) $ok = $ok && in_array($ending, ['png', 'jpg', 'jpeg', 'gif'], true);
    if (!$ok) { http_response_code(400); show('Picture', '<p>This is no picture.</p><p><a href="/avatar.php">Back</a></p>'); }
    if (variant('outside')) {
        $name = bin2hex(random_bytes(12)) . '.bin';
        move_uploaded_file($f['tmp_name'], getenv('LAB_DATA') . "/$name");
        $at = "/picture.php?id=$name";
    } else {
        move_uploaded_file($f['tmp_name'], __DIR__ . "/pictures/$name");
        $at = '/pictures/' . rawurlencode($name);
    }
    $note = '<p>Kept: <a href="' . h($at) . '">' . h($name) . '</a></p>';
}
show('Picture', $note . '<form method="post" action="/avatar.php" enctype="multipart/form-data">' .
    '<input type="file" name="picture" accept="image/png,image/jpeg"><button>Upload</button></form>');
