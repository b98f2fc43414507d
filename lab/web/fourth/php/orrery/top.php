<?php
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
?><!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Orrery makers</title></head><body><p><a href="/index.php">Shop</a> <a href="/workshop.php">Workshop</a></p>
