<?php
require 'lesson.php';
if (posted()) {
    checked();
    $l = text($_POST, 'level');
    if (in_array($l, ['low', 'medium', 'high'], true)) setcookie('level', $l, ['path' => '/']);
    go('/level.php', 303);
}
show('Level', '<p>' . level() . '</p>' . form('/level.php', hidden() .
    '<select name="level"><option>low</option><option>medium</option><option>high</option></select>'));
