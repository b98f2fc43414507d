<?php
require 'inc/forged.php';
need();
$found = rows('SELECT name FROM items WHERE name LIKE ?', '%' . text($_GET, 'q') . '%');
show('Search', form('/search.php', field('q', text($_GET, 'q')), 'Search', 'get') . '<p>' . h(implode(', ', array_column($found, 'name'))) . '</p>');
