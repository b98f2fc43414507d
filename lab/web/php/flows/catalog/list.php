<?php
require 'find.php';
$sort = text($_GET, 'sort', 'name');
if (safe() && !in_array($sort, ['name', 'price'], true)) $sort = 'name';
listing('All', find('SELECT * FROM items ORDER BY ' . quoted($sort)));
