<?php
require 'api.php';
$me = bearer();
if ($_SERVER['REQUEST_METHOD'] === 'PUT') {
    foreach (body() as $name => $value)
        if (in_array($name, variant('weak') ? ['mail', 'phone', 'role'] : ['mail', 'phone'], true) && is_string($value))
            rows("UPDATE users SET $name = ? WHERE id = ?", $value, $me['id']);
    $me = row('SELECT * FROM users WHERE id = ?', $me['id']);
}
answer(shown($me));
