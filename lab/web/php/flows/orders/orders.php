<?php
require 'lab.php';
$u = need();
$list = [];
foreach (rows('SELECT id FROM orders WHERE owner = ?', $u['name']) as $o) {
    $list["/order.php?id=$o[id]"] = "Order $o[id]";
    $list['/invoice.php?number=' . (9000 + $o['id'])] = 'Invoice';
}
show('My orders', links($list));
