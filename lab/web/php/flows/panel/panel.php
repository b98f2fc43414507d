<?php
// The weak one makes variables of what a request brings, over those it has.
require 'lab.php';
$u = need();
$admin = $u['role'] === 'admin';
$lang = 'en';
if (variant('weak')) extract($_REQUEST);
else $lang = text($_GET, 'lang', 'en');
$hello = $lang === 'de' ? 'Guten Tag' : 'Good morning';
if (!$admin) show('Panel', "<p>$hello, you are a member.</p>");
$list = '';
foreach (rows('SELECT * FROM users') as $p) $list .= "<tr><td>$p[name]</td><td>$p[mail]</td></tr>";
show('Panel', "<p>$hello, you administer this.</p><table>$list</table>");
