<?php
// A front controller: each page is a file of pages/.
require 'lab.php';
define('DESK', true);
const PAGES = ['signin', 'signout', 'tickets', 'faq', 'people', 'export', 'role'];
const OF_ADMINISTRATORS = ['people', 'export', 'role'];
$page = text($_GET, 'page', 'tickets');
if (!in_array($page, PAGES, true)) { http_response_code(404); show('Desk', '<p>There is no such page.</p>'); }
$u = user();
if (!$u && $page !== 'signin') go('/index.php?page=signin');
$role = $u['role'] ?? '';
if (variant('cookie')) $role = text($_COOKIE, 'role');
if (in_array($page, OF_ADMINISTRATORS, true) && !variant('weak') && $role !== 'admin') {
    if ($page !== 'export') http_response_code(403);
    show('Desk', '<p>This page is for administrators.</p>');
}
include __DIR__ . "/pages/$page.php";
