<?php
// What a visitor prefers is in a cookie, as serialize() writes it. "signed" takes its own alone; "json" reads JSON.
require 'lab.php';
class Fragment {
    public $file = '';
    function __toString() { return (string)@file_get_contents($this->file); }
}
if (variant('errors')) ini_set('display_errors', '1');
$prefs = ['theme' => 'light', 'size' => '10'];
$kept = text($_COOKIE, 'prefs');
$key = file_get_contents(getenv('LAB_DATA') . '/secret');
if ($kept === '') {
    $s = variant('json') ? json_encode($prefs) : serialize($prefs);
    if (variant('signed')) $s = hash_hmac('sha256', $s, $key) . '.' . $s;
    setcookie('prefs', variant('signed', 'weak') ? base64_encode($s) : $s, ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
} elseif (variant('json')) $prefs = json_decode($kept, true);
elseif (variant('errors')) $prefs = unserialize($kept);
elseif (variant('weak')) $prefs = @unserialize((string)base64_decode($kept));
else {
    [$sign, $s] = explode('.', (string)base64_decode($kept), 2) + ['', ''];
    $prefs = hash_equals(hash_hmac('sha256', $s, $key), $sign) ? unserialize($s) : null;
}
$theme = is_array($prefs) ? ($prefs['theme'] ?? 'light') : 'light';
if (!is_string($theme) && !$theme instanceof Fragment) $theme = 'light';
show('News', '<p>Theme: ' . h((string)$theme) . '</p><p>Nothing is new today.</p>');
