<?php
require 'lesson.php';
$out = '';
if (isset($_GET['id'])) {
    $id = text($_GET, 'id');
    if (level() === 'medium') $id = db()->real_escape_string($id);
    $r = level() === 'high' ? db()->execute_query('SELECT id FROM users WHERE id = ?', [$id])
        : db()->query('SELECT id FROM users WHERE id = ' . (level() === 'low' ? "'$id'" : $id));
    $there = $r && $r->num_rows > 0;
    if (!$there) http_response_code(404);
    $out = $there ? '<p>This number is taken.</p>' : '<p>This number is free.</p>';
}
show('Is it there?', form('/blind.php', field('id', '11') . '<input type="hidden" name="submit" value="Send">', 'Send', 'get') . $out);
