<?php
require 'lesson.php';
$out = '';
if (isset($_GET['id'])) {
    $id = text($_GET, 'id');
    if (level() === 'medium') $id = db()->real_escape_string($id);
    $sql = ['low' => "SELECT name, mail FROM users WHERE id = '$id'", 'medium' => "SELECT name, mail FROM users WHERE id = $id",
        'high' => 'SELECT name, mail FROM users WHERE id = ' . (int)$id . ' LIMIT 1'][level()];
    $r = db()->query($sql);
    if ($r === false) show('A number', '<pre>' . h(db()->error) . '</pre>');
    foreach ($r->fetch_all(MYSQLI_ASSOC) as $u) $out .= "<pre>Name: $u[name]\nMail: $u[mail]</pre>";
}
show('A number', form('/number.php', field('id', '11') . '<input type="hidden" name="submit" value="Send">', 'Send', 'get') . $out);
