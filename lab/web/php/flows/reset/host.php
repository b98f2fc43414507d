<?php
// "forwarded" believes X-Forwarded-Host. The mails that would be sent are shown to whom they are for.
require_once 'lab.php';
function host() {
    if (variant('weak')) return $_SERVER['HTTP_HOST'] ?? '';
    return variant('forwarded') ? $_SERVER['HTTP_X_FORWARDED_HOST'] ?? 'portal.lab.example' : 'portal.lab.example';
}
