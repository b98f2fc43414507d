<?php
require 'lab.php';
$u = need();
if (posted()) {
    checked();
    // The weak one keeps each field of the form that names a column.
    $keep = variant('weak') ? array_diff(array_keys($u), ['id', 'name', 'pass']) : ['mail', 'phone'];
    foreach ($keep as $column)
        if (isset($_POST[$column])) rows("UPDATE users SET `$column` = ? WHERE id = ?", text($_POST, $column), $u['id']);
    go('/profile.php', 303);
}
show('Profile', '<p>Role: ' . h($u['role']) . '</p>' .
    form('/profile.php', hidden() . field('mail', $u['mail'], 'email') . field('phone', $u['phone'])));
