<?php
require 'own.php';
$u = whose(text($_COOKIE, 'sess')) ?: go('/login.php');
show('Account', '<p>' . h($u['name']) . ': ' . h($u['mail']) . '</p><p>Balance: ' . ($u['id'] * 7) . ' EUR</p>');
