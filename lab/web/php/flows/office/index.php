<?php
require 'lab.php';
$u = user();
show('Office', hello() . links(['/hours.php' => 'Hours'] + ($u && $u['role'] === 'admin' ? ['/admin/users.php' => 'Users', '/admin/export.php' => 'Export'] : [])));
