<?php
require_once 'lab.php';
function find($path, ...$values) {
    foreach ($values as $v) $path = preg_replace('/\?/', addcslashes(variant('weak') ? $v : str_replace(["'", '"'], '', $v), '\\$'), $path, 1);
    $doc = new DOMDocument();
    $doc->load(getenv('LAB_DATA') . '/people.xml');
    return @(new DOMXPath($doc))->query($path);
}
