<?php
require 'lab.php';
$u = need();
if (posted()) {
    checked();
    rows('UPDATE users SET website = ? WHERE id = ?', substr(text($_POST, 'website'), 0, 400), $u['id']);
    go('/profile.php', 303);
}
$to = $u['website'];
if (variant('strip', 'sound') && !preg_match('#^https?://#', $to)) $to = '';
$shown = variant('weak') ? "<a href=\"$to\">website</a>" : '<a href="' . h($to) . '">website</a>';
show('Profile', '<p>' . h($u['name']) . ($to ? ", $shown" : '') . '</p>' .
    form('/profile.php', hidden() . field('website', $u['website'] ?: 'https://lab.example/')));
