<?php
defined('DESK') || exit;
if (posted() && variant('cookie') && ($known = person(text($_POST, 'user'), text($_POST, 'password'))))
    setcookie('role', $known['role'], ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
login('/index.php?page=tickets', '/index.php?page=signin', 'user');
