<?php
require 'jwt.php';
$me = bearer_of_cookie();
if (($me['role'] ?? '') !== 'admin') { http_response_code(403); show('Till', '<p>Forbidden</p>'); }
show('Till', '<p>The key is in the second drawer.</p>');
