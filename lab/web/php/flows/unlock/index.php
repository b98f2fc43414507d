<?php
require 'lab.php';
$u = user();
show('Vouchers', ($u ? '<p>Logged in as ' . h($u['name']) . '. <a href="/logout.php">Log out</a></p>' : '<p><a href="/enter.html">Log in</a></p>') .
    links(['/account.php' => 'Account']) . form('/voucher.php', field('code', 'SPRING'), 'Redeem'));
