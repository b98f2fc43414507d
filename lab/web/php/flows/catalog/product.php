<?php
require 'find.php';
$id = text($_GET, 'id');
listing('Product', safe() ? rows('SELECT * FROM items WHERE id = ?', (int)$id) : find('SELECT * FROM items WHERE id = ' . quoted($id)));
