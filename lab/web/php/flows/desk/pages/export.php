<?php
defined('DESK') || exit;
header('Content-Type: text/csv');
echo "id,name,phone\n";
foreach (rows('SELECT id, name, phone FROM users') as $p) echo implode(',', $p), "\n";
