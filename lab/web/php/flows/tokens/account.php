<?php
require 'jwt.php';
$me = bearer_of_cookie();
show('Account', '<p>' . h($me['sub']) . ', ' . h($me['role']) . '</p>');
