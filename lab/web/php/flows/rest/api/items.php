<?php
require 'api.php';
bearer();
$q = text($_GET, 'q');
if (!variant('weak')) answer(rows('SELECT id, name, price FROM items WHERE name LIKE ?', "%$q%"));
$r = db()->query("SELECT id, name, price FROM items WHERE name LIKE '%$q%'");
answer($r ? $r->fetch_all(MYSQLI_ASSOC) : []);
