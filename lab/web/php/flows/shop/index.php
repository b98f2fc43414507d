<?php
require 'lab.php';
$list = '';
foreach (rows('SELECT * FROM items WHERE id < 3') as $i)
    $list .= "<p>A $i[name], $i[price] EUR</p>" . form('/cart.php', hidden() . field('item', $i['id'], 'hidden') .
        field('price', $i['price'], 'hidden') . field('quantity', '1', 'number'), 'Into the cart');
show('Shop', hello() . $list . form('/coupon.php', hidden() . field('code', 'WELCOME10'), 'Use'));
