<?php
// Who is no administrator is sent to the login. The weak one does not stop there.
require_once 'lab.php';
$u = user();
if (!$u || $u['role'] !== 'admin') {
    header('Location: /login.php');
    if (variant('sound')) exit('<p>You are being sent to <a href="/login.php">the login</a>.</p>');
}
