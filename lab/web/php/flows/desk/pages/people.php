<?php
defined('DESK') || exit;
$list = '';
foreach (rows('SELECT * FROM users') as $p) $list .= "<tr><td>$p[name]</td><td>$p[mail]</td><td>$p[phone]</td></tr>";
show('People', "<table>$list</table>" . form('/index.php?page=role', hidden() . field('person', 'ben') .
    '<select name="level"><option>customer</option><option>admin</option></select>', 'Change'));
