<?php
require 'jwt.php';
$me = claims(text($_COOKIE, 'token'));
show('Register', ($me ? '<p>Logged in as ' . h($me['sub']) . '.</p>' : '<p><a href="/login.php">Log in</a></p>') .
    links(['/account.php' => 'Account', '/admin.php' => 'Till'] + (variant('confusion') ? ['/public.pem' => 'Our key'] : [])));
