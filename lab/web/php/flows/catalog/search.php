<?php
require 'find.php';
$q = text($_POST, 'q');
listing('Search', safe() ? rows('SELECT * FROM items WHERE name LIKE ?', "%$q%") : find("SELECT * FROM items WHERE name LIKE '%" . quoted($q) . "%'"));
