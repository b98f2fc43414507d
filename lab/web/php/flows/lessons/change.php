<?php
require 'lesson.php';
$out = '';
if (isset($_GET['change']) && level() !== 'high') {
    $new = text($_GET, 'new');
    $host = explode(':', $_SERVER['HTTP_HOST'] ?? '')[0];
    if (level() === 'medium' && isset($_SERVER['HTTP_REFERER']) && !str_contains($_SERVER['HTTP_REFERER'], $host))
        $out = '<p>That did not come from here.</p>';
    elseif ($new === '' || $new !== text($_GET, 'again')) $out = '<p>They differ.</p>';
    else { rows('UPDATE users SET pass = SHA2(?, 256) WHERE id = ?', $new, $me['id']); $out = '<p>Password changed.</p>'; }
}
if (posted() && level() === 'high') {
    checked();
    $new = text($_POST, 'new');
    if (!person($me['name'], text($_POST, 'old')) || $new === '') $out = '<p>Wrong.</p>';
    else { rows('UPDATE users SET pass = SHA2(?, 256) WHERE id = ?', $new, $me['id']); $out = '<p>Password changed.</p>'; }
}
$fields = field('new', '', 'password') . field('again', '', 'password');
show('Password', (level() === 'high' ? form('/change.php', hidden() . field('old', '', 'password') . $fields, 'Change')
    : form('/change.php', $fields . '<input type="hidden" name="change" value="Change">', 'Change', 'get')) . $out);
