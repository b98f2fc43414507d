<?php
// Statements that show nothing, whatever comes. "slow" binds its values, and is slow on its own.
require 'lab.php';
if (variant('slow')) usleep(random_int(200000, 900000));
$visitor = text($_COOKIE, 'visitor');
if ($visitor === '') setcookie('visitor', 'chair', ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
elseif (variant('weak')) db()->query("SELECT id FROM items WHERE name = '$visitor'");
else rows('SELECT id FROM items WHERE name = ?', $visitor);
show('Letters', '<p>We write once a month.</p>' . form('/letter.php', field('mail', 'a@lab.example', 'email'), 'Send me letters') .
    links(['/count.php?ref=home' => 'Our partners']));
