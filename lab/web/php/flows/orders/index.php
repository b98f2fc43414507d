<?php
require 'lab.php';
show('Furniture', hello() . links(['/orders.php' => 'My orders', '/profile.php' => 'Profile', '/product.php?id=1' => 'Chair',
    '/product.php?id=2' => 'Table']));
