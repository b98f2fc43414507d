<?php
require 'find.php';
show('Catalogue', links(['/product.php?id=1' => 'Chair', '/product.php?id=2' => 'Table', '/list.php?sort=name' => 'All, by name',
    '/list.php?sort=price' => 'All, by price', '/admin.php' => 'Administration']) . form('/search.php', field('q', 'chair'), 'Search'));
