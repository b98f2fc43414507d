<?php
require 'lab.php';
begin(variant('weak') ? ['use_strict_mode' => false, 'cookie_httponly' => false, 'cookie_samesite' => ''] : ['cookie_samesite' => 'Strict']);
show('Club', hello() . links(['/account.php' => 'Account', '/login.php?next=%2Faccount.php' => 'Log in and go on']));
