<?php
defined('DESK') || exit;
$list = ['/index.php?page=faq' => 'Questions'];
if ($role === 'admin') $list += ['/index.php?page=people' => 'People', '/index.php?page=export' => 'Export'];
show('Tickets', '<p>' . h("$u[name] ($role)") . ' <a href="/index.php?page=signout">Log out</a></p>' . links($list));
