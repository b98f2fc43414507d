<?php
require 'guard.php';
$list = '';
foreach (rows('SELECT * FROM users') as $p) $list .= "<tr><td>$p[name]</td><td>$p[mail]</td><td>$p[phone]</td></tr>";
show('Users', "<table>$list</table>");
