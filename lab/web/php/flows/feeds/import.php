<?php
require 'lab.php';
if (!posted()) go('/index.php');
checked();
$doc = new DOMDocument();
if (!@$doc->loadXML(text($_POST, 'feed') ?: '<x', variant('weak') ? LIBXML_NONET | LIBXML_NOENT | LIBXML_DTDLOAD : LIBXML_NONET)) {
    http_response_code(400);
    show('Feeds', '<p>This is no feed.</p>');
}
$list = '';
foreach ($doc->getElementsByTagName('title') as $t) $list .= '<li>' . h($t->textContent) . '</li>';
show('Feeds', "<ul>$list</ul>");
