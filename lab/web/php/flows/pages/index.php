<?php
// A front controller that includes what the address names. "strip" removes ../ once; "list" knows its pages; "base" takes
// the last part of a name.
require 'lab.php';
$page = text($_GET, 'page', 'welcome.html');
if (variant('strip')) $page = str_replace('../', '', $page);
if (variant('base')) $page = basename($page);
if (variant('list') && !in_array($page, ['welcome.html', 'hours.html', 'way.html'], true)) $page = 'welcome.html';
top('Museum');
echo links(['/index.php?page=hours.html' => 'Opening hours', '/index.php?page=way.html' => 'Your way', '/file.php?name=guide.txt' => 'Guide']);
if (!@include __DIR__ . '/pages/' . $page) echo '<p>There is no such page.</p>';
bottom();
